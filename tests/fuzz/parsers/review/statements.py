if 1:
	if 2:
        x = (1,
  2)
\

lambda *a, b=1: {**a, **b}
with (open("x") as f, g): pass
global a
nonlocal b
assert x, y
for i, *j in k: continue
else: break
while 1: pass
