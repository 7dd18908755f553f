package crawler

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Own hosts (politeness rule 18). Loopback is own. A public host that the operator names is own only while
// https://HOST/.well-known/curtsy-owner.txt holds the operator's value for it. That file is asked for through the gate
// like any other, at the pace of a foreign host, when the host's policy is known and before its first page, and again
// when a day has passed. A redirect proves nothing. What is proved is that authority alone, https at its usual port:
// whoever can put a file there need not own what answers on another.

// OwnerPath is where a host holds the proof that it is the operator's own.
const OwnerPath = "/.well-known/curtsy-owner.txt"

const (
	proofLife         = host.Day
	maxProof          = 4 << 10 // octets of the file that are read
	reasonProved      = "proved"
	reasonNoProof     = "the file lacks the value"
	reasonOwnerRobots = "robots.txt: " // in front of the verdict that forbids to ask
)

// OwnerValue is what the file of a host must hold in a line of its own: HMAC-SHA-256 of the host's name under the
// operator's key. It says nothing of the key, and nothing for another host.
func OwnerValue(key []byte, host string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("curtsy owner\n" + host))
	return "curtsy-owner=" + hex.EncodeToString(m.Sum(nil))
}

// claimed reports whether the operator names a as own.
func (c Config) claimed(a canon.Authority) bool {
	return a.Scheme() == "https" && a.HostPort() == a.Host() && slices.Contains(c.OwnSites, a.Host())
}

// owns says whether the host of v is own now, and which floor it has.
func (v *visit) owns(cfg *Config) {
	a := v.turn.Authority
	v.own = cfg.own(a) || cfg.claimed(a) && v.memory.Proved && !v.lapsed()
	v.ownCheck = v.own && cfg.LinkCheck
	t := cfg.terms()
	v.set, v.raised = t.Hosts.Of(a), 0
	if declared := cfg.Hosts.Of(a).Delay; v.set.Delay > declared { // the archive says what the run began with
		v.set.Delay, v.raised = declared, v.set.Delay
	}
	v.floor = max(cfg.Delay, Floor)
	if v.own {
		v.floor = cfg.Delay
	}
}

// trusted is the host of v where it is own now: robots.txt and the proof itself are asked for without credentials, and so
// is all that is asked of others (politeness rule 28).
func (v *visit) trusted() (a canon.Authority) {
	if v.own {
		a = v.turn.Authority
	}
	return a
}

// signsIn reports whether there are credentials for a host.
func (c Config) signsIn(a canon.Authority) bool { return c.SignsIn != nil && c.SignsIn(a) }

// retry has a proof that failed in an earlier run looked for anew, where credentials wait for it: that run ended with it.
func (v *visit) retry(cfg *Config) {
	if v.first && !v.memory.Proved && cfg.signsIn(v.turn.Authority) {
		v.memory.ProvedAt = 0
	}
}

// withheld is the error that ends the run where a host that credentials are for does not prove to be the operator's own. What it
// answers without them is none of what was asked for.
func (c *policies) withheld(v *visit) error {
	a := v.turn.Authority
	if c.cfg.DryRun || v.own || v.lapsed() || !c.cfg.signsIn(a) {
		return nil
	}
	return fmt.Errorf("crawler: %s is not proved to be your own, and gets no credentials: publish there the line that curtsy identity own %s "+
		"prints, or leave out --auth and --header, then continue with curtsy resume", a.Origin(), a.Host())
}

// unproved reports whether the proof is to be looked for now.
func (c *policies) unproved(v *visit) bool {
	return c.cfg.claimed(v.turn.Authority) && !c.cfg.DryRun && v.lapsed()
}

// lapsed reports whether the proof was never looked for, or too long ago. Until it is looked for anew the host is a
// foreign one.
func (v *visit) lapsed() bool {
	since := time.Since(time.UnixMicro(v.memory.ProvedAt))
	return v.memory.ProvedAt == 0 || since >= proofLife || since < 0
}

// prove looks for the proof. When it returns false the turn is over: it was spent on the exchange.
func (c *policies) prove(ctx context.Context, v *visit) (ready bool, err error) {
	u, err := v.turn.Authority.URL(OwnerPath)
	if err != nil {
		return false, fmt.Errorf("crawler: %s: %w", v.turn.Authority, err)
	}
	line := storage.Line{Time: time.Now(), URL: u.String(), Decision: storage.DecisionOwner, Own: v.own}
	verdict := v.rules.Judge(u.RequestURI())
	v.ruled(&line, verdict)
	if !verdict.Allowed {
		line.Reason = reasonOwnerRobots + string(verdict.Reason)
		c.proved(v, false, line.Reason)
		_, err := c.record.Write(ctx, line, record.Evidence{})
		return true, err
	}
	if c.stopper.draining.Err() != nil {
		return false, nil
	}
	line.Attempt = 1
	ex, err := c.exchanger.ask(ctx, v, fetch.Request{URL: u, Accept: robotsAccept, MaxBody: maxProof, Partial: true})
	line.Pace, line.PaceBy = v.kept.Pause, v.kept.By
	if errors.Is(err, errNotYet) {
		return false, nil
	}
	line.Time, line.Reason = v.end, host.Aborted
	cut := func(ctx context.Context) error {
		_, err := c.record.Write(ctx, line, record.Evidence{})
		return err
	}
	if err != nil && late(ctx, err) {
		c.proved(v, false, reasonLease)
		line.Reason = reasonLease
		return false, cut(context.WithoutCancel(ctx))
	}
	if err != nil {
		return false, errors.Join(err, v.aborted(ctx, err, cut))
	}
	defer ex.Close()
	if hit := entryOf(ex.Failure); hit != nil { // nobody was asked
		line = storage.Line{Time: ex.End, URL: line.URL, Decision: storage.DecisionOwner, Reason: reasonOptOut, Own: line.Own}
		nameEntry(&line, hit)
		c.proved(v, false, reasonOptOut)
		_, err := c.record.Write(ctx, line, record.Evidence{})
		return true, err
	}
	return false, c.recordProof(ctx, v, line, ex)
}

// recordProof takes in what the exchange for the proof brought.
func (c *policies) recordProof(ctx context.Context, v *visit, line storage.Line, ex *fetch.Exchange) (err error) {
	ctx = context.WithoutCancel(ctx) // it was made, and is kept
	line.Gap = v.gap(ex.Start)
	if stopped(ex) {
		return c.settler.writeStopped(ctx, v, line, ex, func() { v.recordExchange(ex, host.CutOff, host.Aborted, heedsRetryAfter(ex)) })
	}
	a, why := host.Classify(ex)
	v.recordExchange(ex, a, why, host.ObeysRetryAfter(a, ex.Status))
	ok := false
	if a == host.Answered {
		if ok, err = holds(ex, OwnerValue(c.cfg.OwnKey, v.turn.Authority.Host())); err != nil {
			return err
		}
		if why = reasonProved; !ok {
			why = reasonNoProof
		}
	}
	c.proved(v, ok, why)
	v.noteRest(&line)
	line.Time, line.Reason = ex.End, why
	e := record.Evidence{Exchange: ex, Outlinks: record.Outlinks(ex, extract.Page{})}
	e.Describe(&line)
	_, err = c.record.Write(ctx, line, e)
	return err
}

// holds reports whether a line of the body is value.
func holds(ex *fetch.Exchange, value string) (bool, error) {
	if ex.Body == nil {
		return false, nil
	}
	b, err := io.ReadAll(io.NewSectionReader(ex.Body, 0, min(ex.Body.Size(), maxProof)))
	if err != nil {
		return false, fmt.Errorf("crawler: read the body of %s: %w", ex.URL, err)
	}
	for line := range bytes.Lines(b) {
		if string(bytes.TrimSpace(line)) == value {
			return true, nil
		}
	}
	return false, nil
}

// proved notes what became of the proof. The operator is told when that is new.
func (c *policies) proved(v *visit, ok bool, why string) {
	news := v.memory.ProvedAt == 0 || v.memory.Proved != ok
	v.memory.Proved, v.memory.ProvedAt = ok, time.Now().UnixMicro()
	v.owns(c.cfg)
	v.setRules(v.rules)
	if !v.end.IsZero() {
		v.rest.AtLeast(v.pace)
	}
	switch host := v.turn.Authority.Origin(); {
	case !news:
	case ok:
		c.cfg.Log("%s is proved to be your own", host)
	default:
		c.cfg.Log("%s is not proved to be your own (%s: %s): it is crawled like any other", host, OwnerPath, why)
	}
}
