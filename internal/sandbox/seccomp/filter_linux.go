//go:build amd64 || arm64

package seccomp

import (
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A rule is about one system call. The first rule whose tests all hold decides; a call
// without a matching rule is allowed.
type rule struct {
	call  uint32
	tests []test
	errno unix.Errno // 0 allows
}

// A test checks the low half of an argument: the kernel reads no more of the tested arguments.
// high checks the other half, for pointers.
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

func load(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }

// answer ends the program: with 0 the call is allowed.
func answer(e unix.Errno) bpf.Instruction {
	if e == 0 {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	}
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

// assemble compiles rules to a BPF program. It refuses all calls of other
// architectures, since they have other numbers.
func assemble(arch uint32, rules []rule) []bpf.Instruction {
	prog := []bpf.Instruction{
		load(dataArch),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		answer(unix.EPERM),
		load(dataCall),
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1},
		answer(unix.EPERM),
	}
	for _, r := range rules {
		prog = append(prog, r.assemble()...)
	}
	return append(prog, answer(0))
}

// assemble compiles the rule, from its end. It leaves the call number in the accumulator.
func (r rule) assemble() []bpf.Instruction {
	body := []bpf.Instruction{answer(r.errno)}
	for _, t := range slices.Backward(r.tests) {
		body = append(t.assemble(uint8(len(body))), body...)
	}
	if len(r.tests) > 0 {
		body = append(body, load(dataCall))
	}
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: uint8(len(body))}}, body...)
}

// assemble compiles the test. If it fails it skips rest instructions after it.
func (t test) assemble(rest uint8) []bpf.Instruction {
	offset := dataArgs + 8*t.arg
	if t.high {
		offset += 4
	}
	if t.equal == nil {
		return []bpf.Instruction{load(offset), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: t.mask, SkipFalse: rest}}
	}
	return []bpf.Instruction{
		load(offset),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: *t.equal, SkipFalse: rest},
	}
}

// install installs rules for the calling thread and the programs it executes.
func install(rules []rule) error {
	raw, err := bpf.Assemble(assemble(auditArch, rules))
	if err != nil {
		return err
	}
	prog := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		prog[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if e != 0 {
		return e
	}
	return nil
}
