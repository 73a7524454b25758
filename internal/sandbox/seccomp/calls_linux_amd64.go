package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// oldSetIDs returns the rules of setIDs for calls that only this architecture has.
func oldSetIDs() []rule {
	return []rule{
		{unix.SYS_OPEN, []test{anyOf(1, unix.O_CREAT|tmpfile), anyOf(2, setID)}, unix.EPERM},
		{unix.SYS_CREAT, []test{anyOf(1, setID)}, unix.EPERM},
		{unix.SYS_CHMOD, []test{anyOf(1, setID)}, unix.EPERM},
		{unix.SYS_MKNOD, []test{anyOf(1, setID)}, unix.EPERM},
	}
}

// oldCalls returns calls like those in never that only this architecture has.
func oldCalls() []uint32 {
	return []uint32{
		unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_CREATE_MODULE,
		unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS__SYSCTL,
	}
}
