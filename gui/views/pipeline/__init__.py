"""The pipeline view: the chain of causes as cards."""

from gui.views.pipeline.view import PipelineView as PipelineView
