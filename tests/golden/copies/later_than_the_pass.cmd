report module_0001.open.0010.passes.after_dce.before_pipeline-end.txt --json=summary.json --quiet
