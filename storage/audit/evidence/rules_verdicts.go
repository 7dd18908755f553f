package evidence

import (
	"slices"
	"strconv"
	"strings"

	"curtsy/robots/naive"
	"curtsy/storage"
)

// Verdict is what one document says to one token.
type Verdict struct {
	Token, Standard string
	Allowed         bool
	Line            int
	Target          string // without dot segments, where it was sent with some
}

func (v Verdict) String() string {
	word := "disallowed"
	if v.Allowed {
		word = "allowed"
	}
	if v.Line == 0 {
		return word + " for " + v.Token + " by no line"
	}
	return word + " for " + v.Token + " by line " + strconv.Itoa(v.Line) + " (" + v.Standard + ")"
}

// binding is who is bound by a text, and by which documents it is read.
type binding struct {
	Tokens    []string // product tokens
	Standards []string // the words of the warcinfo's field robots
}

// Verdicts are those of all tokens and documents that bind.
func (t *Store) Verdicts(text Text, target string, by binding) ([]Verdict, error) {
	var vs []Verdict
	for _, token := range by.Tokens {
		for _, standard := range by.Standards {
			r, err := t.reading(text, token, standard)
			if err != nil {
				return nil, err
			}
			ok, line := r.rules.Allowed(target)
			vs = append(vs, Verdict{Token: token, Standard: standard, Allowed: ok, Line: line})
		}
	}
	return vs, nil
}

// Served are the verdicts of a target as it was sent, and as it is without dot segments, if that is another: servers
// give that (RFC 3986 6.2.2.3).
func (t *Store) Served(text Text, target string, by binding) ([]Verdict, error) {
	vs, err := t.Verdicts(text, target, by)
	if plain := Undotted(target); err == nil && plain != target {
		var more []Verdict
		more, err = t.Verdicts(text, plain, by)
		for _, v := range more {
			v.Target = plain
			vs = append(vs, v)
		}
	}
	return vs, err
}

// InWords writes verdicts as findings do.
func InWords(vs []Verdict) string {
	var s []string
	for _, v := range vs {
		s = append(s, v.String())
	}
	return strings.Join(s, "; ")
}

// Agree reports whether one of the verdicts is what a line of the crawl says.
func Agree(vs []Verdict, l *storage.Line, allowed bool) bool {
	if len(vs) == 0 {
		return l.RobotsLine == 0
	}
	return slices.ContainsFunc(vs, func(v Verdict) bool { return v.tells(l, allowed) })
}

// tells reports whether v is what a line of the crawl says, but for what it quotes.
func (v Verdict) tells(l *storage.Line, allowed bool) bool {
	return v.Allowed == allowed && v.Line == l.RobotsLine && (l.Standard == "" || l.Standard == v.Standard)
}

// quote is what a verdict about a target quotes. Group and runner-up are recomputed by RFC 9309 alone: certain says so.
func (t *Store) quote(text Text, v Verdict, target string) (w quote, certain bool, err error) {
	b, err := t.body(text)
	if err != nil {
		return w, false, err
	}
	w.Rule = Plain(naive.Written(b, v.Line))
	if v.Standard != "rfc9309" {
		return w, false, nil
	}
	r, err := t.reading(text, v.Token, v.Standard)
	if err != nil {
		return w, false, err
	}
	w.Group = Plain(naive.Group(b, v.Token, v.Line))
	w.RunnerUp = Plain(naive.Written(b, r.rules.RunnerUp(target)))
	return w, true, nil
}

// Misquoted recomputes what a line quotes of the robots.txt that decided, and returns the right words, or "" where the
// line has them. Several verdicts may be what it tells of: one that has its words is enough.
func (t *Store) Misquoted(text Text, vs []Verdict, l *storage.Line, target string, allowed bool) (right string,
	err error) {
	told := quote{Rule: Plain(l.RobotsRule), Group: Plain(l.RobotsGroup),
		RunnerUp: Plain(l.RunnerUp)}
	for _, v := range vs {
		if !v.tells(l, allowed) {
			continue
		}
		at := target
		if v.Target != "" {
			at = v.Target
		}
		w, certain, err := t.quote(text, v, at)
		if err != nil {
			return "", err
		}
		if w == told || !certain && w.Rule == told.Rule || v.Line == 0 && told == (quote{}) {
			return "", nil
		}
		right = w.String() + ", and not " + told.String()
	}
	return right, nil
}
