compare gru.hlo --copies=pending --small-node-limit=0 --budgets=80%,r40% --schedulers=input --algorithms=none,path,scan,checkpoint=memory
