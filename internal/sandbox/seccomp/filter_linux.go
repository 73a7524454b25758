//go:build amd64 || arm64

package seccomp

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A rule is about one system call. The first rule whose tests all hold decides; a call
// without a matching rule is allowed.
type rule struct {
	call  uint32
	tests []test
	errno unix.Errno // 0 allows
}

// A test checks the low half of an argument, which is all that the kernel reads of the
// tested arguments. high checks the other half, for pointers.
type test struct {
	arg  uint32
	high bool
	mask uint32
	// equal is the required value of the masked bits; nil requires that any of
	// them is set.
	equal *uint32
}

func anyOf(arg, mask uint32) test { return test{arg: arg, mask: mask} }

func equals(arg, value uint32) test { return test{arg: arg, mask: ^uint32(0), equal: &value} }

func masked(arg, mask, value uint32) test { return test{arg: arg, mask: mask, equal: &value} }

// Offsets in struct seccomp_data on little-endian machines.
const (
	dataCall = 0
	dataArch = 4
	dataArgs = 16
	x32Bit   = 0x40000000
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jump(op uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func answer(e unix.Errno) unix.SockFilter {
	value := uint32(unix.SECCOMP_RET_ALLOW)
	if e != 0 {
		value = unix.SECCOMP_RET_ERRNO | uint32(e)
	}
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

// assemble compiles rules to a BPF program. It refuses all calls of other
// architectures, since they have other numbers.
func assemble(arch uint32, rules []rule) []unix.SockFilter {
	prog := []unix.SockFilter{
		load(dataArch),
		jump(unix.BPF_JEQ, arch, 1, 0),
		answer(unix.EPERM),
		load(dataCall),
		jump(unix.BPF_JGE, x32Bit, 0, 1),
		answer(unix.EPERM),
	}
	for _, r := range rules {
		prog = append(prog, r.assemble()...)
	}
	return append(prog, answer(0))
}

// assemble compiles the rule. It leaves the call number in the accumulator.
func (r rule) assemble() []unix.SockFilter {
	if len(r.tests) == 0 {
		return []unix.SockFilter{jump(unix.BPF_JEQ, r.call, 0, 1), answer(r.errno)}
	}
	var body []unix.SockFilter
	for i, t := range r.tests {
		offset := dataArgs + 8*t.arg
		if t.high {
			offset += 4
		}
		body = append(body, load(offset))
		// The remaining length of the body: two or three instructions for each
		// later test, and the result.
		left := uint8(1)
		for _, later := range r.tests[i+1:] {
			left += later.size()
		}
		if t.equal == nil {
			body = append(body, jump(unix.BPF_JSET, t.mask, 0, left))
			continue
		}
		body = append(body,
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask},
			jump(unix.BPF_JEQ, *t.equal, 0, left))
	}
	body = append(body, answer(r.errno))
	prog := []unix.SockFilter{jump(unix.BPF_JEQ, r.call, 0, uint8(len(body)+1))}
	prog = append(prog, body...)
	return append(prog, load(dataCall))
}

func (t test) size() uint8 {
	if t.equal == nil {
		return 2
	}
	return 3
}

// install installs rules for the calling thread and the programs it executes.
func install(rules []rule) error {
	prog := assemble(auditArch, rules)
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if e != 0 {
		return e
	}
	return nil
}
