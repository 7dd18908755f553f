package trap

import (
	"fmt"
	"hash/fnv"
	"strings"

	"curtsy/frontier/canon"
)

// The names of the rules, as they stand in ledger, status and commands.
const (
	RuleQueries  = "trap:queries"
	RuleTemplate = "trap:template"
	RuleCopy     = "trap:copy"
)

// Limits are the numbers of the rules. Zero means the default, a negative number switches the rule off.
type Limits struct {
	Queries  int // distinct queries of one path; zero means 1,000
	Template int // URLs of one template; zero means 10,000
	Copy     int // copies in a row until the links of one are dropped; zero means 1
}

// MaxLimit is the largest number that a rule may have: no count goes further.
const MaxLimit = 2_000_000

// maxCopy is likewise the largest of Limits.Copy.
const maxCopy = 200

// Names are the names of the rules without "trap:", in order.
func Names() []string { return []string{"copy", "queries", "template"} }

// Set gives the rule of that name, with or without "trap:", another number; 0 switches it off. known is false if there
// is no such rule here.
func (l *Limits) Set(name string, n int) (known bool) {
	if n <= 0 {
		n = -1
	}
	switch strings.TrimPrefix(name, "trap:") {
	case "queries":
		l.Queries = n
	case "template":
		l.Template = n
	case "copy":
		l.Copy = n
	default:
		return false
	}
	return true
}

// Check says what is wrong with l, or nil.
func (l Limits) Check() error {
	for _, r := range []struct {
		name    string
		n, most int
	}{{"queries", l.Queries, MaxLimit}, {"template", l.Template, MaxLimit}, {"copy", l.Copy, maxCopy}} {
		if r.n > r.most {
			return fmt.Errorf("trap: %s=%d is more than can be counted, %d; switch the rule off instead", r.name, r.n, r.most)
		}
	}
	return nil
}

// orDefault is n, or what zero stands for.
func orDefault(n, zero int) int {
	if n == 0 {
		return zero
	}
	return n
}

func (l Limits) queries() int  { return orDefault(l.Queries, 1000) }
func (l Limits) template() int { return orDefault(l.Template, 10_000) }
func (l Limits) copy() int     { return orDefault(l.Copy, 1) }

// idLength is how long a run of letters and digits must be to be a session id.
const idLength = 16

// Template returns s with every run of digits, and every session id, written "#".
func Template(s string) string {
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	return string(appendTemplate(make([]byte, 0, len(s)), s))
}

func appendTemplate(b []byte, s string) []byte {
	for s != "" {
		end, digits := run(s)
		switch {
		case end == 0:
			b, s = append(b, s[0]), s[1:]
			continue
		case digits && end >= idLength:
			b = append(b, '#')
		default:
			b = appendNumbers(b, s[:end])
		}
		s = s[end:]
	}
	return b
}

// appendNumbers appends word with its runs of digits written "#".
func appendNumbers(b []byte, word string) []byte {
	for i := 0; i < len(word); i++ {
		if !digit(word[i]) {
			b = append(b, word[i])
		} else if i == 0 || !digit(word[i-1]) {
			b = append(b, '#')
		}
	}
	return b
}

// run returns the length of the run of ASCII letters and digits that s begins with, and whether it has a digit.
func run(s string) (end int, digits bool) {
	for end < len(s) && (digit(s[end]) || letter(s[end])) {
		digits = digits || digit(s[end])
		end++
	}
	return end, digits
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// maxIDs is how many session ids of a URL are looked for on its page. An address has room for hundreds, and a page for
// a million words.
const maxIDs = 16

// ids returns the session ids in s, the first of them.
func ids(s string) []string {
	var all []string
	for s != "" && len(all) < maxIDs {
		end, digits := run(s)
		if digits && end >= idLength {
			all = append(all, s[:end])
		}
		s = s[max(end, 1):]
	}
	return all
}

// group is what is counted together: the queries of a path, or the URLs of a template. Zero is none.
type group uint32

// groupsOf returns the groups of a URL. One without a query has none of queries.
func groupsOf(u canon.URL) (queries, template group) {
	root := len(u.String()) - len(u.RequestURI()) // key and fetch URL differ behind it alone
	key := u.Key()[root:]
	if path, _, ok := strings.Cut(key, "?"); ok {
		queries = groupOf("queries ", path)
	}
	return queries, groupOf("template ", Template(key))
}

func groupOf(rule, text string) group {
	h := fnv.New64a()
	h.Write([]byte(rule))
	h.Write([]byte(text))
	sum := h.Sum64()
	return group(sum>>32^sum) | 1
}
