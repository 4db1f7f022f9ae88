package embedded

import "syscall"

// endWithParent makes the kernel kill a child when the thread that starts it ends.
func endWithParent(attributes *syscall.SysProcAttr) error {
	attributes.Pdeathsig = syscall.SIGKILL
	return nil
}
