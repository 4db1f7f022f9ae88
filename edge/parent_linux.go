package edge

import "syscall"

// endWithParent makes the kernel stop nginx when the thread that starts it ends.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGTERM }
