//go:build !linux

package embedded

import (
	"fmt"
	"runtime"
	"syscall"
)

// endWithParent refuses a child: one whose parent is killed would run on.
func endWithParent(*syscall.SysProcAttr) error {
	return fmt.Errorf("%s cannot end a redis-server with its parent", runtime.GOOS)
}
