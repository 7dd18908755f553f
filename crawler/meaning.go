package crawler

import (
	"io"
	"net/http"

	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/storage"
)

// reasonUnexpected304 is why a 304 fails that there is no archived answer for: it was not asked for, or what it would confirm
// cannot be read. The URL is asked for once more, without conditions.
const reasonUnexpected304 = "not modified, without an archived answer"

// again304 bounds the attempts at a URL that is answered with such a 304 between other failures.
const again304 = 5

// meaning is what an exchange says of its URL: itself or, with a 304, the archived answer that it confirms.
type meaning struct {
	*fetch.Exchange // whose head and body speak for the URL
	answer          host.Answer
	why             string
	confirmed       *storage.Original // the archived answer, which holds still; nil when the exchange speaks for itself
	body            io.Closer         // of that
}

func (m meaning) close() error {
	if m.body == nil {
		return nil
	}
	return m.body.Close()
}

// meaning tells what an exchange says.
func (c *outcomes) meaning(x *attempt) meaning {
	ex := x.ex
	m := meaning{Exchange: ex}
	m.answer, m.why = host.Classify(ex)
	if c.cfg.Past == nil || ex.Failure != nil || ex.Status != http.StatusNotModified {
		return m
	}
	m.why = reasonUnexpected304
	if !x.before.conditional || !record.Confirms(ex.Header, x.before.Header) {
		return m
	}
	body, closer, err := x.before.Body()
	if err != nil {
		c.cfg.Log("%s: its archived response cannot be read, so it is requested again: %v", short(x.task.URL.String()), err)
		return m
	}
	header := record.Freshened(x.before.Header, ex.Header)
	m.Exchange = &fetch.Exchange{
		URL: ex.URL, Start: ex.Start, End: ex.End, Status: x.before.Status, Header: header,
		Body: body, PayloadDigest: x.before.Payload,
	}
	m.body, m.answer, m.why = closer, host.Answered, ""
	m.confirmed = &x.before.Original
	if want := c.bounds.request(1, x.task).Want; want != nil {
		if rule := want(x.before.Status, header); rule != "" { // the wishes of the operator may be others by now
			m.answer, m.why = host.Unwanted, rule
		}
	}
	return m
}

// change tells what became of a URL since it was archived. Where the same body came again and the archived one cannot be
// read, it is new: then it is archived in full (crawldir.Past).
func (c *outcomes) change(x *attempt, m meaning, now frontier.Outcome) (storage.Change, error) {
	is := x.before.Change(now, m.confirmed != nil, m.Header, m.PayloadDigest)
	if is != storage.ChangeUnchanged || m.confirmed != nil || now != frontier.Fetched || x.before.Body == nil {
		return is, nil
	}
	_, body, err := x.before.Body()
	if err != nil {
		c.cfg.Log("%s: its archived response cannot be read, so the new one is archived in full: %v", short(x.task.URL.String()), err)
		return storage.ChangeNew, nil
	}
	return is, body.Close()
}
