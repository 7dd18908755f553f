package repair

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/durable"
)

// Import makes a frontier at path, where there must be no file, of items in the order that frontier.Item says. next
// returns them one by one and io.EOF after the last. The file gets its name when all of it is durable; after an error
// there is none. An item that is out of order, not whole or contradicts another is an error that says its number,
// counted from 1.
func Import(path string, next func() (frontier.Item, error)) error {
	fail := func(err error) error { return fmt.Errorf("frontier/bolt: import %s: %w", path, err) }
	if _, err := os.Lstat(path); err == nil {
		return fail(fmt.Errorf("%w: a frontier is imported into a new file", os.ErrExist))
	}
	to, err := newFileBuilder(path)
	if err != nil {
		return fail(err)
	}
	defer to.Abandon()
	im := importing{to: to, clock: layout.Clock{Began: time.Now()}}
	for n := 1; ; n++ {
		item, err := next()
		switch {
		case errors.Is(err, io.EOF) && im.stage == totalsStage:
			if err := to.finish(durable.Publish); err != nil {
				return fail(err)
			}
			return nil
		case errors.Is(err, io.EOF):
			return fail(fmt.Errorf("it ends after item %d without totals: it was cut off", n-1))
		case err == nil:
			err = im.take(item)
		}
		if err != nil {
			return fail(fmt.Errorf("item %d: %w", n, err))
		}
	}
}

// stage is how far an import is: items come in this order.
type stage int

const (
	nothing stage = iota
	headStage
	seedStage
	blobStage
	hostStage
	urlStage // hosts come among the URLs too, each before its own
	refusedStage
	totalsStage
)

type importing struct {
	to      *Builder
	clock   layout.Clock
	stage   stage
	head    frontier.Head
	into    *assembly
	refused int64 // fingerprints
}

// take takes the next item.
func (im *importing) take(item frontier.Item) error {
	var at []stage
	for s, is := range [...]bool{
		headStage: item.Head != nil, seedStage: item.Seed != nil, blobStage: item.Blob != nil, hostStage: item.Host != nil,
		urlStage: item.URL != nil, refusedStage: item.Refused != nil, totalsStage: item.Totals != nil,
	} {
		if is {
			at = append(at, stage(s))
		}
	}
	switch {
	case len(at) != 1:
		return fmt.Errorf("%d of its fields are set, and not one", len(at))
	case im.stage == nothing && at[0] != headStage:
		return errors.New("it comes before the head")
	case im.stage == headStage && at[0] == headStage, im.stage == totalsStage:
		return errors.New("it comes after the totals, or is a second head")
	case at[0] < im.stage && (at[0] != hostStage || im.stage != urlStage):
		return errors.New("it is out of order")
	}
	im.stage = max(im.stage, at[0])
	switch at[0] {
	case headStage:
		return im.begin(*item.Head)
	case seedStage:
		if item.Seed.URL.IsZero() {
			return errors.New("a seed has no URL")
		}
		return im.into.seed(*item.Seed)
	case blobStage:
		if len(item.Blob) > layout.MaxBlob {
			return fmt.Errorf("a blob of %d bytes: over %d", len(item.Blob), layout.MaxBlob)
		}
		return im.into.blobs(layout.MakeBlobs([][]byte{item.Blob}))
	case hostStage:
		return im.host(item.Host)
	case urlStage:
		return im.url(item.URL)
	case refusedStage:
		return im.refuse(item.Refused)
	}
	return im.end(item.Totals)
}

func (im *importing) begin(h frontier.Head) (err error) {
	switch {
	case len(h.Secret) != 32:
		return fmt.Errorf("a secret of %d bytes, not 32", len(h.Secret))
	case h.Openings < 0 || h.Openings >= math.MaxUint32:
		return fmt.Errorf("%d openings", h.Openings)
	case h.Floor < 0:
		return errors.New("its floor is negative")
	}
	im.head = h
	im.into, err = newAssembly(im.to, im.clock, bytes.Clone(h.Secret))
	return err
}

// host takes a host. Its counts are not believed: they follow from the rest.
func (im *importing) host(x *frontier.Host) error {
	a := im.into
	switch {
	case x.Authority.IsZero():
		return errors.New("a host has no name")
	case a.byName[x.Authority] != nil:
		return fmt.Errorf("host %s was there before", x.Authority)
	case x.Condition > frontier.Refused:
		return fmt.Errorf("host %s: no condition %d", x.Authority, x.Condition)
	case x.Hold.Act != 0 && x.Hold.Act != frontier.Park && x.Hold.Act != frontier.Drop:
		return fmt.Errorf("host %s: act %d does not hold a host", x.Authority, x.Hold.Act)
	case x.Pace < 0 || x.Width < 0:
		return fmt.Errorf("host %s: pace or width is negative", x.Authority)
	case len(x.Robots) > frontier.MaxRobots || len(x.Memory) > frontier.MaxMemory:
		return fmt.Errorf("host %s: robots state of %d bytes, memory of %d: over %d and %d",
			x.Authority, len(x.Robots), len(x.Memory), frontier.MaxRobots, frontier.MaxMemory)
	}
	h, err := a.host(x.Authority)
	if err != nil {
		return err
	}
	now := im.clock.Now()
	h.HostState = layout.HostState{
		Condition: x.Condition, Reason: x.Reason, Pace: x.Pace, Width: x.Width,
		NotBefore: layout.After(now, x.Wait),
	}
	switch v := x.Hold; { // one that waits no longer has just ended
	case v.Act == frontier.Drop:
		h.Hold = &layout.Hold{Act: v.Act, Until: math.MaxInt64, Reason: v.Reason}
	case v.Act == frontier.Park && v.Wait > 0:
		h.Hold = &layout.Hold{Act: v.Act, Until: layout.After(now, v.Wait), Reason: v.Reason}
	}
	for kind, data := range map[layout.Kind][]byte{layout.KindRobots: x.Robots, layout.KindMemory: x.Memory} {
		if len(data) == 0 {
			continue
		}
		at := layout.Address{Kind: kind, ID: uint64(h.id)}
		if err := a.putState(layout.StateRecord{Address: at, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

func (im *importing) url(x *frontier.Entry) error {
	a := im.into
	if x.URL.IsZero() {
		return errors.New("an entry has no URL")
	}
	h := a.byName[x.URL.Authority()]
	switch {
	case h == nil:
		return fmt.Errorf("URL %s: its host has not come yet", x.URL)
	case a.print.Print(x.URL) != x.Print:
		return fmt.Errorf("URL %s: its fingerprint does not belong to it", x.URL)
	case int(x.Outcome) >= len(frontier.Outcomes{}):
		return fmt.Errorf("URL %s: no outcome %d", x.URL, x.Outcome)
	case x.Attempts < 0 || x.Stops < 0 || x.Alone < 0 || x.Alone > x.Stops,
		x.Deferred && x.Attempts == 0 && x.Replaced.IsZero(): // what was deferred has counted an attempt, or replaced the URL
		return fmt.Errorf("URL %s: attempts or stops that cannot be", x.URL)
	}
	if fresh, err := a.mark(x.Print); err != nil || !fresh {
		return cmp.Or(err, fmt.Errorf("URL %s was there before", x.URL))
	}
	e := layout.Ending(0)
	if x.Outcome != 0 {
		e = layout.MakeEnding(x.Outcome, a.totals.Number(x.Reason))
	}
	r, err := a.url(h, x.Candidate, x.Print, e)
	if err != nil || x.Outcome != 0 {
		return err
	}
	return im.pending(r, x)
}

// pending keeps what there is about the attempts at a pending URL, and the stops.
func (im *importing) pending(r layout.Ref, x *frontier.Entry) error {
	now := im.clock.Now()
	t := &layout.Retry{
		Attempts: x.Attempts, Reason: x.Reason, Due: layout.After(now, x.Wait), Stops: x.Stops, Alone: x.Alone,
	}
	if !x.Replaced.IsZero() {
		t.URL = x.Replaced.String()
	}
	if t.Void() {
		return nil
	}
	return im.into.putState(*t.StateRecord(r, im.clock, now))
}

func (im *importing) refuse(ps []frontier.Fingerprint) error {
	for _, p := range ps {
		if p == 0 {
			return errors.New("a refused fingerprint is zero")
		}
		if fresh, err := im.into.mark(p); err != nil || !fresh {
			return cmp.Or(err, fmt.Errorf("refused fingerprint %016x was there before", uint64(p)))
		}
	}
	im.refused += int64(len(ps))
	return nil
}

// end takes the totals, which must add up with what has come.
func (im *importing) end(x *frontier.Totals) error {
	a, sum := im.into, x.Strange
	for name, n := range x.Refused {
		h := a.byName[name]
		if h == nil || n < 0 || n > math.MaxUint32 {
			return fmt.Errorf("totals: %d refused of host %s, which is not known or cannot be", n, name)
		}
		h.Refused = uint32(n)
		sum += n
	}
	if x.Strange < 0 || sum != im.refused {
		return fmt.Errorf("totals: %d refused, and %d have come", sum, im.refused)
	}
	a.totals.Strangers = x.Strange
	a.totals.Outcomes[frontier.Dropped] += sum
	for reason, n := range x.Reasons {
		if sum -= n; n < 0 || sum < 0 {
			return errors.New("totals: more reasons than refused URLs")
		}
		if e := layout.MakeEnding(frontier.Dropped, a.totals.Number(reason)); e.Reason() != 0 && n > 0 {
			a.totals.Endings[e] += n
		}
	}
	maps.Copy(a.totals.Capped, x.Capped)
	for name, n := range x.Counts {
		a.totals.Counts[name] = n
	}
	return a.finish(uint64(im.head.Openings), !im.head.Unclean, im.head.Floor)
}
