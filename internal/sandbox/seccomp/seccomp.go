// Package seccomp refuses the system calls that commands in a sandbox do not need and could do
// harm with. It knows the calls of the supported processors, and compiles rules about them to a
// filter of the Linux kernel. It knows nothing of commands.
//
// The filter is assembled by golang.org/x/net/bpf. elastic/go-seccomp-bpf 1.6.0 cannot express
// it: a list of refusals lets all calls of another architecture pass there (int 0x80), and it
// compares 64 bits of an argument where the kernel reads 32 (TIOCSTI with a high bit set passes).
//
// Begin with [Install] and [InstallInContainer].
package seccomp
