//go:build !linux

package edge

import "syscall"

// endWithParent does nothing: an nginx whose parent is killed runs on here, until it is stopped.
func endWithParent(*syscall.SysProcAttr) {}
