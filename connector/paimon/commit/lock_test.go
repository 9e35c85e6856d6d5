package commit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
)

// TestLock takes the lock around the creation of a snapshot and nothing else,
// and commits nothing without it.
func TestLock(t *testing.T) {
	x := newTable(t, nil)
	held, taken := false, 0
	var deny error
	x.mem.SetFault(func(o fileio.Op) fileio.Outcome {
		if o.Changes() && (o.Verb == "exclusive") != held {
			t.Errorf("%s %s with lock %v", o.Verb, o.Path, held)
		}
		return fileio.Proceed
	})
	c, err := commit.New(commit.Config{Files: x.mem, Paths: x.paths, Schema: x.schema, User: "u", Sleep: noSleep,
		Lock: func(context.Context) (func() error, error) {
			if deny != nil {
				return nil, deny
			}
			held, taken = true, taken+1
			return func() error { held = false; return errors.New("the connection broke") }, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if s := x.must(c, &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 1, 2)))}); s.ID != 1 || taken != 1 || held {
		t.Errorf("snapshot %d, taken %d times, held %v", s.ID, taken, held)
	}
	deny = errors.New("no lock today")
	before := len(x.mem.Paths())
	_, err = c.Commit(ctx, &connector.Committable{Identifier: 2, Messages: messages(x.message("p", x.file(0, 3, 4)))})
	if !errors.Is(err, deny) || len(x.mem.Paths()) != before {
		t.Errorf("%v, files %d and %d", err, before, len(x.mem.Paths()))
	}
	deny = nil
	if s := x.must(c, &connector.Committable{Identifier: 2, Messages: messages(x.message("p", x.file(0, 3, 4)))}); s.ID != 2 {
		t.Errorf("snapshot %d", s.ID)
	}
}
