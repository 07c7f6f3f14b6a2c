input.hlo --apply-plan=saved.json --memory-model=xla-remat --mem-limit=13KiB --json=plan.out.json -o - --quiet
