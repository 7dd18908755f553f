package forgery

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The ledger as docs/ledger.md describes it, in the hand of a forger: this knows nothing of package ledger.

var (
	chainPart = regexp.MustCompile(`,"chain":"[0-9a-f]+"(,"sig":"[0-9a-f]+")?}\n$`)
	keyField  = regexp.MustCompile(`,"key":"[0-9a-f]*"`)
	lineCount = regexp.MustCompile(`,"lines":[0-9]+`)
	before    = regexp.MustCompile(`,"before":"[0-9a-f]+"`)
)

// rechain chains the lines anew and signs their heads, without a key not at all.
func (e *evidence) rechain(key ed25519.PrivateKey) {
	var hash [sha256.Size]byte
	lines := 0
	for i, line := range e.book {
		body := strings.TrimSuffix(chainPart.ReplaceAllString(line, "}"), "\n")
		digits, head := 8, false
		if mark, ok := strings.CutPrefix(body, `{"mark":"`); ok {
			digits, head = len(hash), strings.HasPrefix(mark, "head")
			body = lineCount.ReplaceAllString(body, fmt.Sprintf(`,"lines":%d`, lines))
			body = before.ReplaceAllString(body, fmt.Sprintf(`,"before":"%x"`, hash))
		} else {
			lines++
		}
		if head {
			body = keyField.ReplaceAllString(body, "")
		}
		if head && key != nil {
			body = strings.TrimSuffix(body, "}") + fmt.Sprintf(`,"key":"%x"}`, key.Public())
		}
		hash = sha256.Sum256(append(hash[:], body...))
		end := fmt.Sprintf(`,"chain":"%x"`, hash[:digits])
		if head && key != nil {
			end += fmt.Sprintf(`,"sig":"%x"`, ed25519.Sign(key, []byte("curtsy ledger head\n"+hex.EncodeToString(hash[:]))))
		}
		e.book[i] = strings.TrimSuffix(body, "}") + end + "}\n"
	}
}

// resign is rechain with the operator's key.
func (e *evidence) resign() { e.rechain(operatorKey) }

// line returns the index of the first line that has all of these parts.
func (e *evidence) line(parts ...string) int {
	e.t.Helper()
	i := slices.IndexFunc(e.book, func(line string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) })
	})
	if i < 0 {
		e.t.Fatalf("no line has %q", parts)
	}
	return i
}

// lineOf returns the index of the line of an exchange.
func (e *evidence) lineOf(x exchange) int { return e.line(`"record":"` + x.id() + `"`) }

// edit replaces what a pattern matches in a line; it must match.
func (e *evidence) edit(i int, pattern, with string) {
	e.t.Helper()
	re := regexp.MustCompile(pattern)
	if !re.MatchString(e.book[i]) {
		e.t.Fatalf("%s is not in %s", pattern, e.book[i])
	}
	e.book[i] = re.ReplaceAllString(e.book[i], with)
}

// value sets the value of a field of a line, which must have it.
func (e *evidence) value(i int, name, value string) {
	e.t.Helper()
	e.edit(i, `"`+name+`":("(\\.|[^"\\])*"|[^,}]*)`, `"`+name+`":`+strings.ReplaceAll(value, "$", "$$"))
}

// cut takes a line out.
func (e *evidence) cut(i int) { e.book = slices.Delete(e.book, i, i+1) }
