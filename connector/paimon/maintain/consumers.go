package maintain

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Consumer is a reader of changes that expiry waits for.
type Consumer struct {
	ID   string
	Next int64 // the snapshot that it reads next
	Time time.Time
}

const consumerPrefix = "consumer-"

// Consumers returns the consumers.
func (t *Table) Consumers(ctx context.Context) ([]Consumer, error) {
	list, err := t.cfg.Files.List(ctx, t.paths.ConsumerDir())
	if err != nil {
		return nil, err
	}
	var out []Consumer
	for _, in := range list {
		id, ok := strings.CutPrefix(in.Name, consumerPrefix)
		if !ok || in.Dir {
			continue
		}
		b, err := t.cfg.Files.ReadFile(ctx, t.consumerPath(id))
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var v struct {
			Next *int64 `json:"nextSnapshot"`
		}
		if err := json.Unmarshal(b, &v); err != nil || v.Next == nil {
			return nil, errs.Corruptf("read the consumer %s of %s: it has no nextSnapshot", id, t.cfg.Name)
		}
		out = append(out, Consumer{id, *v.Next, in.ModTime})
	}
	return out, nil
}

func (t *Table) consumerPath(id string) string {
	return t.paths.ConsumerDir() + "/" + consumerPrefix + id
}

// oldestConsumed returns the first snapshot that a consumer still needs.
func (t *Table) oldestConsumed(ctx context.Context) (int64, error) {
	oldest := int64(math.MaxInt64)
	list, err := t.Consumers(ctx)
	for _, c := range list {
		oldest = min(oldest, c.Next)
	}
	return oldest, err
}

// ResetConsumer sets the snapshot that a consumer reads next.
func (t *Table) ResetConsumer(ctx context.Context, id string, next int64) error {
	if err := validConsumer(id); err != nil {
		return err
	}
	if next < 1 {
		return errs.Userf(errs.WrongArguments, "reset the consumer %s of %s: %d is not a snapshot", id, t.cfg.Name, next)
	}
	return t.cfg.Files.WriteFile(ctx, t.consumerPath(id), fmt.Appendf(nil, "{\n  \"nextSnapshot\" : %d\n}", next))
}

func validConsumer(id string) error {
	if strings.TrimSpace(id) == "" || !spec.ValidFileName(consumerPrefix+id) {
		return errs.Userf(errs.WrongArguments, "%q is not the name of a consumer", id)
	}
	return nil
}

// DeleteConsumer forgets a consumer.
func (t *Table) DeleteConsumer(ctx context.Context, id string) error {
	if err := validConsumer(id); err != nil {
		return err
	}
	return t.cfg.Files.Remove(ctx, t.consumerPath(id))
}

// ClearConsumers forgets the consumers whose names match the regular expression
// including as a whole ("": all) and do not match excluding ("": none).
func (t *Table) ClearConsumers(ctx context.Context, including, excluding string) error {
	in, err := Pattern(including)
	if err != nil {
		return err
	}
	ex, err := Pattern(excluding)
	if err != nil {
		return err
	}
	list, err := t.Consumers(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		if in != nil && !in.MatchString(c.ID) || ex != nil && ex.MatchString(c.ID) {
			continue
		}
		if err := t.DeleteConsumer(ctx, c.ID); err != nil {
			return err
		}
	}
	return nil
}

// Pattern compiles a regular expression for whole names, nil for "".
func Pattern(text string) (*regexp.Regexp, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	r, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return nil, errs.Userf(errs.InvalidRegexp, "%q is not a regular expression: %v", text, err)
	}
	return r, nil
}

// expireConsumers forgets consumers that have not moved for
// consumer.expiration-time.
func (t *Table) expireConsumers(ctx context.Context) error {
	o := spec.NewOptions(t.cfg.Schema.Options)
	d := o.Duration("consumer.expiration-time", 0)
	if d <= 0 || o.Err != nil {
		return o.Err
	}
	list, err := t.Consumers(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Time.Before(t.cfg.Now().Add(-d)) {
			if err := t.DeleteConsumer(ctx, c.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
