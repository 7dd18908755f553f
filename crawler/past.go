package crawler

import (
	"context"
	"io"
	"net/http"

	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/revisit"
	"curtsy/frontier"
)

// before is the archived answer of a task, as its request has to do with it. The zero value is none.
type before struct {
	*revisit.Earlier
	conditional bool // the request was
}

// reasonHollow is why a 304 fails that there is no archived answer for: it was not asked for, or what it would confirm
// cannot be read. The URL is asked for once more, without conditions.
const reasonHollow = "not modified, without an archived answer"

// again304 bounds the attempts at a URL that is answered with such a 304 between other failures.
const again304 = 5

// follows makes r the request for a task that may have been archived before.
func (c *Crawl) follows(ctx context.Context, task frontier.Task, r *fetch.Request) (b before, err error) {
	if c.cfg.Past == nil {
		return b, nil
	}
	if b.Earlier, err = c.cfg.Past.Last(ctx, task.URL); err == nil && task.Reason != reasonHollow {
		b.conditional = b.Condition(r)
	}
	return b, err
}

// meaning is what an exchange says of its URL: itself or, with a 304, the archived answer that it confirms.
type meaning struct {
	*fetch.Exchange // whose head and body speak for the URL
	answer          host.Answer
	why             string
	body            io.Closer // of the archived answer; nil when the exchange speaks for itself
}

func (m meaning) close() error {
	if m.body == nil {
		return nil
	}
	return m.body.Close()
}

// meaning tells what an exchange says, and notes in d which answer still holds.
func (c *Crawl) meaning(task frontier.Task, ex *fetch.Exchange, d *decision) meaning {
	m := meaning{Exchange: ex}
	m.answer, m.why = host.Classify(ex)
	if c.cfg.Past == nil || ex.Failure != nil || ex.Status != http.StatusNotModified {
		return m
	}
	m.why = reasonHollow
	if !d.before.conditional || !revisit.Confirms(ex.Header, d.before.Header) {
		return m
	}
	body, closer, err := d.before.Body()
	if err != nil {
		c.cfg.Log("%s: its archived answer cannot be read, it is asked for anew: %v", short(task.URL.String()), err)
		return m
	}
	header := revisit.Freshened(d.before.Header, ex.Header)
	m.Exchange = &fetch.Exchange{
		URL: ex.URL, Start: ex.Start, End: ex.End, Status: d.before.Status, Header: header,
		Body: body, PayloadDigest: d.before.Payload,
	}
	m.body, m.answer, m.why = closer, host.Answered, ""
	d.holds = &d.before.Original
	if want := c.request(1, task).Want; want != nil {
		if rule := want(d.before.Status, header); rule != "" { // the wishes of the operator may be others by now
			m.answer, m.why = host.Unwanted, rule
		}
	}
	return m
}
