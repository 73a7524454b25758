package child

import "golang.org/x/sys/unix"

// limitData bounds the memory that the process can write to. Addresses without memory,
// which the runtime reserves in plenty, do not count.
func limitData(bytes int64) error {
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)})
}
