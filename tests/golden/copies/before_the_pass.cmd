report module_0001.open.0007.passes.after_fusion.before_dce.txt --json=summary.json --quiet
