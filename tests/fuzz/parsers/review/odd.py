import os as o, sys, importlib as i
from http import client
from os import *
import a.b.c as d
try:
    import numpy
except (ImportError, OSError):
    numpy = None
match sys.argv:
    case [x, *_] if (y := x) is not None: pass
    case {"a": 1, **rest}: pass
    case A(b=1) | None: pass
type T[*Ts] = tuple[*Ts]
class C[T: int](d, metaclass=M):
    @o.system
    async def f(self, /, a, *, b=lambda: (yield), **kw) -> "x":
        async with a as b, c: return [x async for x in y if await z]
        return f"{a!r:>{b}} {f'{c}'} {{ {d["e"]=}" + rb'\x00' t'{x}'
try: pass
except* E as e: raise X from e
finally: del a[1:2, ...], b
eval("1"); getattr(o, 'popen')(*a, **{'k': o.environ['X']})
__import__('sub' 'process').run; open(f'/etc/{x}', mode='w')
print(not -~+a ** -b if c else d or e and f, 0x_f, 1_0.5e-3j, '''
x''')
