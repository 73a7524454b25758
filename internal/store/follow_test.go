package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func TestFollow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		feed := s
		var keys []string
		round := func(from string, limit int) (string, bool, bool) {
			t.Helper()
			keys = nil
			place, lost, more, err := feed.Follow(t.Context(), from, limit, []string{"a"},
				func(topic, key string) { keys = append(keys, topic+key) })
			if err != nil {
				t.Fatal(err)
			}
			return place, lost, more
		}
		begin, lost, _ := round("", 10)
		if !lost {
			t.Error("no place is a place")
		}
		for _, key := range []string{"1", "2", "3"} {
			change(t, s, "a", key)
			change(t, s, "b", key)
		}
		place, lost, more := round(begin, 2)
		if lost || !more || fmt.Sprint(keys) != "[a1 a2]" {
			t.Errorf("%v, %v, %v", lost, more, keys)
		}
		place, lost, more = round(place, 2)
		if lost || more || fmt.Sprint(keys) != "[a3]" {
			t.Errorf("%v, %v, %v", lost, more, keys)
		}
		if again, lost, more := round(place, 2); again != place || lost || more || keys != nil {
			t.Errorf("%v, %v, %v", lost, more, keys)
		}
		change(t, s, "a", "4")
		change(t, s, "a", "5")
		if _, err := s.PruneChanges(t.Context(), -time.Hour); err != nil {
			t.Fatal(err)
		}
		last, lost, _ := round(place, 2)
		if !lost {
			t.Error("what was forgotten is not missed")
		}
		if _, lost, _ = round(last, 2); lost {
			t.Error("the end of the feed is no place")
		}
		if _, lost, _ = round("x"+last, 2); !lost {
			t.Error("a place in another store is one here")
		}
		if _, lost, _ = round(last+"9", 2); !lost {
			t.Error("a place after the end is one")
		}
	})
}

// TestFollowSeesWhatIsOpen has a transaction open: what is committed after it
// began is not settled, and Follow says that there is more.
func TestFollowSeesWhatIsOpen(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t))
	feed := s
	change(t, s, "a", "first")
	begin, _, _, err := feed.Follow(t.Context(), "", 10, []string{"a"}, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	follow := func() (keys []string, more bool) {
		t.Helper()
		_, lost, more, err := feed.Follow(t.Context(), begin, 10, []string{"a"},
			func(_, key string) { keys = append(keys, key) })
		if err != nil || lost {
			t.Fatal(lost, err)
		}
		return keys, more
	}
	began, end, ended := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		err := s.Update(context.Background(), func(tx *store.Tx) error {
			if err := errors.Join(tx.Lock("any"), tx.Changed("a", "slow")); err != nil { // it has an id from here on
				return err
			}
			close(began)
			<-end
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-began
	change(t, s, "a", "fast")
	if keys, more := follow(); len(keys) != 0 || !more {
		t.Errorf("%v, more %v", keys, more)
	}
	close(end)
	<-ended
	if keys, more := follow(); len(keys) != 2 || more {
		t.Errorf("%v, more %v", keys, more)
	}
}
