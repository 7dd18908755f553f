package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// learn applies what an exchange for robots.txt brought to the host's policy, and returns what is needed then.
func (c *policies) learn(v *visit, ex gate.Answer, now time.Time) (need robots.Need) {
	before, failures := v.state.Fetched(), v.state.Failures()
	v.state, need = c.gate.Terms.Next(v.state, v.turn.Authority.Origin(), ex.Exchange, now)
	if !v.state.Fetched().Equal(before) {
		v.memory.Source.Learn(v.state, ex.Status, ex.Record, ex.Date)
	}
	v.hearsay(v.state, now)
	v.memory.Forbidden = ex.Status == http.StatusForbidden
	digest, ruled := v.state.Body()
	switch {
	case ruled && digest == sha256.Sum256(ex.Body):
		v.result.Blobs = append(v.result.Blobs, ex.Body)
		v.setRules(gate.Rules{Book: c.gate.Learn(digest, ex.Body)})
		v.learned = true
	case !ruled:
		all, _ := v.state.Verdict()
		v.setRules(gate.Rules{All: all})
	}
	if !v.end.IsZero() {
		v.rest.AtLeast(v.pace) // a Crawl-delay read just now binds the very next exchange
	}
	v.policyOver(failures, ex.Failure)
	if need.Action == robots.Wait {
		reason := host.WhyUnreachable(v.state)
		v.leaveAlone(frontier.Parked, reason, need.After)
		switch class := fetch.Class(ex.Failure); { // no waiting mends these
		case class == fetch.PrivateAddress:
			v.leaveAlone(frontier.Retired, reason+" (see --allow-net)", 0)
		case class.Ours():
			v.leaveAlone(frontier.Retired, reason, 0)
		}
		c.logUnreachable(v)
	}
	c.leaveIfTooSlow(v)
	return need
}

// logUnreachable says that a host's robots.txt is unavailable, and when it is requested again if the run waits for that. Of a
// host that is closed because of that, applied says so.
func (c *policies) logUnreachable(v *visit) {
	if v.rest.Condition > frontier.Parked {
		return
	}
	why := "nothing may be fetched: " + plainly.Reason(v.rest.Reason)
	if class := fetch.Class(v.state.Failure()); class.Unconnected() && v.rest.Reason == host.WhyUnreachable(v.state) {
		why = "could not connect: " + plainly.Reason(string(class))
	}
	again := ""
	if v.rest.Wait <= c.maxWait() {
		again = fmt.Sprintf("; next try in %v", v.rest.Wait.Round(time.Second))
	}
	c.cfg.Log("%s: %s%s", v.turn.Authority.Origin(), why, again)
}

// policyOver counts what a fetch of robots.txt came to, when it is over: a policy ends the failures in a row, and one that
// cannot be had is a failure (politeness rule 12) though each of its answers was sound, as those of a circle of redirects
// are. An exchange that failed has counted already; our own guard and an opt-out are no failures of the host.
func (v *visit) policyOver(failures int, failure string) {
	switch {
	case v.state.Failures() > failures:
		if v.blamed || fetch.Class(failure).Ours() {
			return
		}
		var r host.Rest
		v.memory, r = host.WithoutPolicy(v.memory, host.WhyUnreachable(v.state))
		v.leaveAlone(r.Condition, r.Reason, 0)
		v.rest.AtLeast(host.Pace{Pause: r.Wait, By: r.By})
	case v.state.Failures() == 0 && v.state.Hops() == 0:
		v.memory = host.WithPolicy(v.memory)
	}
}

// leaveIfTooSlow leaves a host alone that asks for a longer pause than we wait for (politeness rule 7).
func (c *policies) leaveIfTooSlow(v *visit) {
	if site := host.Asked(v.rules.Book); site.Pause > max(c.cfg.MaxCrawlDelay, v.floor) {
		v.leaveAlone(frontier.Retired, fmt.Sprintf("%s %v is longer than --max-crawl-delay %v", site.By, site.Pause, c.cfg.MaxCrawlDelay), 0)
	}
}

// digestOf is the SHA-256 of a body as the ledger writes it.
func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
