package kernel

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// oldCalls returns rules for system calls that only this architecture has.
func oldCalls() []rule {
	rules := []rule{
		{unix.SYS_OPEN, []test{anyOf(1, unix.O_CREAT|tmpfile), anyOf(2, setID)}, unix.EPERM},
		{unix.SYS_CREAT, []test{anyOf(1, setID)}, unix.EPERM},
		{unix.SYS_CHMOD, []test{anyOf(1, setID)}, unix.EPERM},
		{unix.SYS_MKNOD, []test{anyOf(1, setID)}, unix.EPERM},
	}
	for _, call := range [...]uint32{
		unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB,
		unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
		unix.SYS__SYSCTL,
	} {
		rules = append(rules, rule{call: call, errno: unix.EPERM})
	}
	return rules
}
