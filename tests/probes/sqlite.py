"""A database with a journal, a transaction and an index."""
import sqlite3
base = sqlite3.connect("/workdir/base.db")
base.execute("pragma journal_mode=wal")
base.execute("create table t (a integer primary key, b text)")
base.executemany("insert into t (b) values (?)", [(str(n),) for n in range(2000)])
base.execute("create index i on t (b)")
base.commit()
assert base.execute("select count(*), max(a) from t").fetchone() == (2000, 2000)
print("works")
