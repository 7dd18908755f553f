package finding

import "time"

// Doubt is what cannot be proved of a host, and why. The pauses concerned lie between Least and Most.
type Doubt struct {
	Authority   string
	What        Code
	Why         string
	Least, Most time.Duration
}

// List is what a judge has to say of an exchange. The zero List is empty and ready to use.
type List struct {
	Findings []Finding
	Doubts   []Doubt
}

// Add adds a finding.
func (l *List) Add(f Finding) { l.Findings = append(l.Findings, f) }

// Doubt adds what cannot be proved of a host.
func (l *List) Doubt(authority string, what Code, why string, least, most time.Duration) {
	l.Doubts = append(l.Doubts, Doubt{authority, what, why, least, most})
}

// Take returns what was added, and empties the list: it is valid until the next Add.
func (l *List) Take() List {
	all := *l
	l.Findings, l.Doubts = l.Findings[:0], l.Doubts[:0]
	return all
}
