from kit import *

def later():
    time.sleep(2)
    reached("two seconds")
threading.Thread(target=later, daemon=True).start()
time.sleep(0.1)
os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(4)
