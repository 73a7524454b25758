package kernel

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// oldCalls are those that only this architecture has: none.
func oldCalls() []rule { return nil }
