report module_0001.open.0009.passes.after_copy-insertion.before_dce.txt --json=summary.json --quiet
