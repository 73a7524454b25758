package history

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"time"
)

// shardCount is how many locks all files share.
const shardCount = 256

// A Lock keeps everybody else from changing some files through a store in the
// same directory, in this process and in others.
type Lock struct {
	s      *Store
	shards []int
	files  []*os.File // as many as are locked
}

// Lock waits until nobody else changes the files with these keys, and until
// what a killed process did to them half is cleared up.
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
	slices.Sort(l.shards) // all take them in one order, so nobody waits in a circle
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

// Unlock lets others go on. It may be called twice.
func (l *Lock) Unlock() {
	for i, file := range slices.Backward(l.files) {
		l.s.unlockShard(l.shards[i], file)
	}
	l.files = nil
}

// lockShard waits for one lock: first for this process, in which a channel wakes
// whoever is next, then for others.
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
	_ = file.Close() // this unlocks, and nothing was written
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

// catalogueTimeout bounds the wait for the catalogue: who holds it is done soon,
// or is stopped.
const catalogueTimeout = 30 * time.Second

// lockCatalogue keeps others from writing to the catalogue, and from adding or
// removing copies. A change that is half done does not give up with its call.
func (s *Store) lockCatalogue(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogueTimeout)
	defer cancel()
	file, err := s.lockShard(ctx, shardCount)
	if err != nil {
		return nil, fmt.Errorf("waiting for the history of files: %w", err)
	}
	return func() { s.unlockShard(shardCount, file) }, nil
}
