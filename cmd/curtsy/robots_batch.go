package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// maxQuestion is the longest line of a batch, in bytes.
const maxQuestion = 16 << 20

// question is a line of a batch. Members that it does not know are passed over: they may serve who wrote them.
type question struct {
	ID        json.RawMessage `json:"id"` // any value; comes back with the answer
	Standard  string          `json:"standard"`
	RobotsTxt *string         `json:"robots_txt"`
	RobotsB64 *string         `json:"robots_b64"` // the same in base64, for bytes that are no UTF-8
	Agent     string          `json:"agent"`
	URL       string          `json:"url"`
}

// batchAnswer is what one is answered with.
type batchAnswer struct {
	ID       json.RawMessage `json:"id"`
	Allow    bool            `json:"allow"`
	Reason   string          `json:"reason"`
	Line     int             `json:"line"` // 0 when no rule decides
	Rule     string          `json:"rule"`
	DelayS   *float64        `json:"delay_s"` // null when no pause is asked for
	Sitemaps []string        `json:"sitemaps"`
}

type refusal struct {
	ID    json.RawMessage `json:"id"`
	Error string          `json:"error"`
}

// batch answers one line after the other, each before it waits for the next. preset holds what a line leaves out.
func batch(in io.Reader, out io.Writer, preset question) error {
	r := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriter(out)
	enc := jsonLines(w)
	for {
		line, long, err := readQuestion(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(fmt.Errorf("standard input: %w", err), w.Flush())
		}
		last := err != nil
		switch {
		case long:
			err = enc.Encode(refusal{json.RawMessage("null"), fmt.Sprintf("the line is longer than %s", plainly.ExactSize(maxQuestion))})
		case len(bytes.TrimSpace(line)) > 0:
			err = enc.Encode(reply(line, preset))
		default:
			err = nil
		}
		if err == nil && (last || r.Buffered() == 0) {
			err = w.Flush()
		}
		if err != nil || last {
			return err
		}
	}
}

// readQuestion reads a line; of one that is too long it keeps nothing.
func readQuestion(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxQuestion; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// reply answers a line, with an answer or a refusal.
func reply(line []byte, preset question) any {
	q := preset
	err := json.Unmarshal(line, &q)
	if q.ID == nil {
		q.ID = json.RawMessage("null")
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%s: unexpected %s", cmp.Or(wrong.Field, "the line"), wrong.Value)
	}
	if err != nil {
		return refusal{q.ID, "no question: " + err.Error()}
	}
	a, err := q.answer()
	if err != nil {
		return refusal{q.ID, err.Error()}
	}
	return a
}

func (q question) answer() (batchAnswer, error) {
	body, err := q.body()
	if err != nil {
		return batchAnswer{}, err
	}
	standard, err := robots.ParseStandard(cmp.Or(q.Standard, robots.RFC9309.String()))
	if err != nil {
		return batchAnswer{}, fmt.Errorf("standard: %w", err)
	}
	if err := robots.ValidToken(q.Agent); err != nil {
		return batchAnswer{}, fmt.Errorf("agent: %w", err)
	}
	u, target, err := readTarget(q.URL)
	if err != nil {
		return batchAnswer{}, fmt.Errorf("url: %w", err)
	}
	p := robots.Parse(body, robots.Options{Token: q.Agent, Standard: standard})
	o := newOpinion(p.Match(target), standard)
	o.setDelay(p)
	a := batchAnswer{ID: q.ID, Allow: o.Allow, Reason: o.Reason, Line: o.Line, Rule: o.Rule, DelayS: o.DelayS}
	a.Sitemaps = append([]string{}, p.ResolveSitemaps(u.Authority().Scheme()+"://"+u.Authority().HostPort()+"/robots.txt")...)
	return a, nil
}

// readTarget returns the URL that raw would be asked as, and the target on its request line. A URL that is longer than we
// would ask for can be judged all the same: its target is taken as written, and only its site is a URL.
func readTarget(raw string) (u canon.URL, target string, err error) {
	if u, err = canon.Parse(raw); canon.ReasonOf(err) != canon.TooLong {
		return u, u.RequestURI(), err
	}
	_, rest, _ := strings.Cut(raw, "://")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 {
		return u, "", err // it is the host that is too long
	}
	u, err = canon.Parse(strings.TrimSuffix(raw, rest[i:]))
	return u, rest[i:], err
}

func (q question) body() ([]byte, error) {
	switch {
	case q.RobotsTxt != nil && q.RobotsB64 != nil:
		return nil, errors.New("robots_txt and robots_b64: use only one of them")
	case q.RobotsTxt != nil:
		return []byte(*q.RobotsTxt), nil
	case q.RobotsB64 == nil:
		return nil, errors.New("neither robots_txt nor robots_b64")
	}
	body, err := base64.StdEncoding.DecodeString(*q.RobotsB64)
	if err != nil {
		return nil, fmt.Errorf("robots_b64: %w", err)
	}
	return body, nil
}
