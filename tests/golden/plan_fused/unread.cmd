unread.hlo --algorithm=checkpoint=memory --memory-model=liveness --small-node-limit=0 --mem-limit=min -q --save-plan=- -o result.hlo
