package kernel

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// oldCalls returns nothing: this architecture has no such calls.
func oldCalls() []rule { return nil }
