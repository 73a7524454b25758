package history

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// shardCount is the number of locks. All files share them.
const shardCount = 256

// A Lock is a lock of some files. It excludes other goroutines and other processes that
// use a store in the same directory.
type Lock struct {
	s      *Store
	shards []int
	files  []*os.File // of the shards that are locked
}

// Lock waits until no other change locks the files with these keys. Then it recovers
// the unfinished changes of these files that killed processes left.
func (s *Store) Lock(ctx context.Context, keys []string) (*Lock, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	l := &Lock{s: s}
	for _, key := range keys {
		h := fnv.New32a()
		_, _ = h.Write([]byte(key))
		l.shards = append(l.shards, int(h.Sum32()%shardCount))
	}
	slices.Sort(l.shards) // one order for all, so that no deadlock is possible
	l.shards = slices.Compact(l.shards)
	for _, shard := range l.shards {
		file, err := s.lockShard(ctx, shard)
		if err != nil {
			l.Unlock()
			return nil, err
		}
		l.files = append(l.files, file)
	}
	if err := s.waitForPending(ctx, l.shards); err != nil {
		l.Unlock()
		return nil, err
	}
	return l, nil
}

// Unlock releases the lock. It may be called twice.
func (l *Lock) Unlock() {
	for i, file := range slices.Backward(l.files) {
		l.s.unlockShard(l.shards[i], file)
	}
	l.files = nil
}

// lockShard waits for one lock: first in this process, where a channel queues
// goroutines, then for other processes.
func (s *Store) lockShard(ctx context.Context, shard int) (*os.File, error) {
	select {
	case s.shards[shard] <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := s.lockFile(ctx, s.path(locksDir, fmt.Sprintf("%02x", shard)))
	if err != nil {
		<-s.shards[shard]
	}
	return file, err
}

func (s *Store) unlockShard(shard int, file *os.File) {
	_ = file.Close() // releases the lock
	<-s.shards[shard]
}

func (s *Store) lockFile(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for wait := time.Duration(0); ; {
		taken, err := tryLock(file)
		if err == nil && !taken {
			err = pause(ctx, &wait)
		}
		if err != nil {
			_ = file.Close()
			return nil, err
		}
		if taken {
			return file, nil
		}
	}
}

// tryLock locks file if no process has locked it. Closing the file releases the lock, and
// so does the end of the process. If the file system does not support locks, tryLock
// returns true: then only goroutines exclude each other.
func tryLock(file *os.File) (taken bool, err error) {
	taken, err = private.TryLock(file)
	if errors.Is(err, errors.ErrUnsupported) {
		return true, nil
	}
	return taken, err
}

// catalogueTimeout is the max time to wait for the catalogue. Its lock is held
// only for a short time, unless the process is stopped.
const catalogueTimeout = 30 * time.Second

// lockCatalogue locks the catalogue and the directory of copies. It ignores the end of
// ctx, because a change must not stop half way.
func (s *Store) lockCatalogue(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogueTimeout)
	defer cancel()
	file, err := s.lockShard(ctx, shardCount)
	if err != nil {
		return nil, fmt.Errorf("waiting for the history of files: %w", err)
	}
	return func() { s.unlockShard(shardCount, file) }, nil
}
