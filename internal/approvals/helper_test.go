package approvals

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func someCall(change ...func(*Call)) Call {
	c := Call{
		Call: "c1", Tool: "write_file", Title: "Write file", Risk: "destroys", Principal: "a/u", Agent: "a", User: "u",
		Session: "s", Profile: "coding", Workspace: "/w", Digest: "d1", Basis: "b1",
		Shown: `{"path":"src/a.go","content":"x"}`, Args: json.RawMessage(`{"path":"src/a.go","content":"x"}`),
	}
	for _, f := range change {
		f(&c)
	}
	c.Agent, c.User, _ = strings.Cut(c.Principal, "/")
	return c
}

// hang is when a test gives up on what must happen. It measures nothing, so
// that it does not fail on a busy machine.
const hang = 3 * time.Minute

func in(d time.Duration) time.Time { return time.Now().Add(d) }

func mustAsk(t testing.TB, s *Store, c Call) string {
	t.Helper()
	id, err := s.Ask(t.Context(), c, in(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// place is the engine of the store with a test's questions.
type place struct {
	dsn string
	db  *store.Store
}

// TestOnBothEngines runs what a store has to do, each time on an empty one.
func TestOnBothEngines(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		for name, test := range onBothEngines {
			t.Run(name, func(t *testing.T) { test(t, placeIn(t, t.TempDir())) })
		}
	})
	t.Run("postgres", func(t *testing.T) {
		for name, test := range onBothEngines {
			t.Run(name, func(t *testing.T) { test(t, placeIn(t, storetest.Database(t))) })
		}
	})
}

var onBothEngines = map[string]func(*testing.T, place){
	"what is given up leaves nothing":       testWhatIsGivenUpLeavesNothing,
	"questions are bounded in size":         testQuestionsAreBoundedInSize,
	"deciding over HTTP":                    testDecidingOverHTTP,
	"the death of a server":                 testTheDeathOfAServer,
	"an approval for an ended server":       testApprovalForAnEndedServer,
	"death at any moment":                   testDeathAtAnyMoment,
	"the life of a question":                testTheLifeOfAQuestion,
	"what is taken is what was asked about": testWhatIsTakenIsWhatWasAskedAbout,
	"no answer is no":                       testNoAnswerIsNo,
	"a no takes a yes back":                 testANoTakesAYesBack,
	"approvers see their own":               testApproversSeeTheirOwn,
	"one answer counts":                     testOneAnswerCounts,
	"questions are bounded":                 testQuestionsAreBounded,
	"await ends with its context":           testAwaitEndsWithItsContext,
	"odd ids":                               testOddIDs,
	"the end of a server":                   testTheEndOfAServer,
	"who looks is there":                    testWhoLooksIsThere,
	"a person changes a call":               testPersonChangesACall,
	"rules end":                             testRulesEnd,
	"a rule for a session":                  testARuleForASession,
	"rules that cannot be":                  testRulesThatCannotBe,
}

func placeIn(t testing.TB, dsn string) place {
	t.Helper()
	return place{dsn, storetest.Open(t, dsn)}
}

// server is a server's store; it ends with the test.
func (p place) server(t testing.TB) *Store {
	t.Helper()
	s := New(Options{DB: p.db})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// person is the store of a process that asks nothing.
func (p place) person() *Store { return New(Options{DB: p.db}) }

// elsewhere is a store with other connections, as another machine has them.
func (p place) elsewhere(t testing.TB) *Store {
	t.Helper()
	return placeIn(t, p.dsn).server(t)
}

var (
	ann = Approver{Name: "ann", Channel: "cli"}
	yes = Answer{Allow: true}
	no  = Answer{Reason: "not today"}
)

// until tries again until done says so.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(hang); !done(); {
		if time.Now().After(late) {
			t.Fatalf("in vain: %s", what)
		}
		<-time.After(5 * time.Millisecond) // others need the machine too
	}
}

// state returns the state of a question, or "" if there is none.
func state(t testing.TB, p place, id string) State {
	t.Helper()
	q, err := p.person().Get(t.Context(), id, Approver{})
	if err != nil && !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	return q.State
}

// exec changes rows directly.
func (p place) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if err := p.db.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
