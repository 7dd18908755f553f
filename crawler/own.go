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

// OwnerPath is the file that proves a public host to be the operator's own (politeness rule 18). The crawler requests it
// through the gate, before the first page and again after a day; a redirect does not prove it. The proof holds for that
// authority only, https at its default port, since another port may have another owner.
const OwnerPath = "/.well-known/curtsy-owner.txt"

const (
	proofLife         = host.Day
	maxProof          = 4 << 10 // bytes of the file that are read
	reasonProved      = "proved"
	reasonNoProof     = "the file lacks the value"
	reasonOwnerRobots = "robots.txt: " // before the verdict
)

// OwnerValue returns the line that the file of a host must contain: HMAC-SHA-256 of its name under the operator's key, which
// it does not reveal.
func OwnerValue(key []byte, host string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("curtsy owner\n" + host))
	return "curtsy-owner=" + hex.EncodeToString(m.Sum(nil))
}

// claimed reports whether the operator claims a.
func (c Config) claimed(a canon.Authority) bool {
	return a.Scheme() == "https" && a.HostPort() == a.Host() && slices.Contains(c.OwnSites, a.Host())
}

// owns sets whether the host is own now, and its floor.
func (v *visit) owns(cfg *Config) {
	a := v.turn.Authority
	v.own = cfg.own(a) || cfg.claimed(a) && v.memory.Proved && !v.lapsed()
	v.ownCheck = v.own && cfg.LinkCheck
	t := cfg.terms()
	v.set, v.raised = t.Hosts.Of(a), 0
	if declared := cfg.Hosts.Of(a).Delay; v.set.Delay > declared { // warcinfo has the initial value
		v.set.Delay, v.raised = declared, v.set.Delay
	}
	v.floor = max(cfg.Delay, Floor)
	if v.own {
		v.floor = cfg.Delay
	}
}

func (c Config) signsIn(a canon.Authority) bool { return c.SignsIn != nil && c.SignsIn(a) }

// withheld returns the error that ends the run if a host with credentials is not proved own: without them its responses are
// not the requested ones.
func (c *policies) withheld(v *visit) error {
	a := v.turn.Authority
	if c.cfg.DryRun || v.own || v.lapsed() || !c.cfg.signsIn(a) {
		return nil
	}
	return fmt.Errorf("crawler: %s is not proved to be your own, and gets no credentials: publish there the line that curtsy identity own %s "+
		"prints, or leave out --auth and --header, then continue with curtsy resume", a.Origin(), a.Host())
}

func (c *policies) unproved(v *visit) bool {
	return c.cfg.claimed(v.turn.Authority) && !c.cfg.DryRun && v.lapsed()
}

// lapsed reports whether the proof was never requested, or too long ago. Until then the host is third-party.
func (v *visit) lapsed() bool {
	since := time.Since(time.UnixMicro(v.memory.ProvedAt))
	return v.memory.ProvedAt == 0 || since >= proofLife || since < 0
}

// prove requests the proof. If it returns false, the turn was spent on the exchange.
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
	if hit := entryOf(ex.Failure); hit != nil {
		line = storage.Line{Time: ex.End, URL: line.URL, Decision: storage.DecisionOwner, Reason: reasonOptOut, Own: line.Own}
		nameEntry(&line, hit)
		c.proved(v, false, reasonOptOut)
		_, err := c.record.Write(ctx, line, record.Evidence{})
		return true, err
	}
	return false, c.recordProof(ctx, v, line, ex)
}

func (c *policies) recordProof(ctx context.Context, v *visit, line storage.Line, ex *fetch.Exchange) (err error) {
	ctx = context.WithoutCancel(ctx)
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

// proved records the result of the proof, and logs a change.
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
