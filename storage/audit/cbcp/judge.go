package cbcp

import (
	"context"
	"hash/maphash"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// Judge gathers what the clauses are judged by. It is a witness of one audit, after which Conclude gives the Result.
type Judge struct {
	files []string
	facts facts
}

// New returns a Judge of the audit of files, and of what is published.
func New(files []string, p Published) *Judge {
	return &Judge{files: files, facts: facts{published: p, agents: map[string]*agent{}, servers: map[string]*server{},
		seed: maphash.MakeSeed(), visits: map[uint64]visit{},
		heads: heads{stored: map[uint64]stored{}, unfollowed: map[uint64]bool{}}}}
}

// facts are what the checks go by.
type facts struct {
	seed maphash.Seed

	exchanges, requests, answered int64
	agents                        map[string]*agent // User-Agents as sent, of requests
	agentless                     int64
	hours                         [24]int64 // exchanges, by the hour they began in, UTC
	byResponse                    int64     // pauses that the response time decided
	depths                        int64     // exchanges whose depth is known
	deepest                       int

	servers  map[string]*server // by authority
	failures int64              // answers of 429 and 5xx
	pressed  []Example          // where the crawl went on as before

	visits map[uint64]visit // by URL
	lost   int64            // exchanges with URLs behind the bound
	most   Example
	mostN  int32
	soon   []Example // asked for again too soon
	again  int64     // exchanges with a URL that had a usable answer

	published Published

	heads
}

// agent is a User-Agent and where it was sent first.
type agent struct {
	n     int64
	first Example
}

// The bounds of what is kept: different User-Agents, and URLs.
const (
	maxAgents = 256
	maxURLs   = 1 << 20
)

// Exchange implements audit.Witness.
func (j *Judge) Exchange(_ context.Context, e *evidence.Exchange, _ finding.Report) error {
	f := &j.facts
	f.exchanges++
	if e.Answered {
		f.answered++
	}
	if !e.Began.IsZero() {
		f.hours[e.Began.UTC().Hour()]++
	}
	if e.Request != (finding.Place{}) {
		f.requests++
		f.named(e)
	}
	if l := e.Line; l != nil {
		if l.PaceBy == storage.ByResponseTime {
			f.byResponse++
		}
		if l.Kind != "" {
			f.depths++
			f.deepest = max(f.deepest, l.Depth)
		}
	}
	f.server(e)
	if !e.Robots {
		f.visit(e)
	}
	return nil
}

// named notes who asks.
func (f *facts) named(e *evidence.Exchange) {
	if e.Agent == "" {
		f.agentless++
		return
	}
	a := f.agents[e.Agent]
	if a == nil {
		if len(f.agents) == maxAgents {
			return
		}
		a = &agent{first: at(e, "User-Agent: "+e.Agent)}
		a.first.Place = e.Request
		f.agents[e.Agent] = a
	}
	a.n++
}

// at is an exchange as an example.
func at(e *evidence.Exchange, observed string) Example {
	return Example{Place: e.Place, URL: finding.Short(e.URL), Time: e.Began, Observed: observed}
}

// add keeps an example while there are few.
func add(to *[]Example, e Example) {
	if len(*to) < maxExamples {
		*to = append(*to, e)
	}
}

// Refused implements audit.Witness.
func (j *Judge) Refused(context.Context, *storage.Line, finding.Place, finding.Report) error {
	return nil
}

// Info implements audit.Witness.
func (j *Judge) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	if in.Token != "" {
		j.facts.tokens = appendNew(j.facts.tokens, in.Token)
	}
	return nil
}

// Close implements audit.Witness.
func (j *Judge) Close(context.Context, *audit.Result, finding.Report) error { return nil }
