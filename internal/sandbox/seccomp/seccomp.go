// Package seccomp refuses the system calls that commands in a sandbox do not need and
// could do harm with. It knows the calls of the processors that it supports, and compiles
// rules about them to a filter of the Linux kernel. It does not know what commands are.
//
// Begin with [Install] and [InstallInContainer].
package seccomp
