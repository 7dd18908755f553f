package crawldir

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/frontier"
)

func TestSeedFileWithBOMTagsCommentsCRLFAndGarbage(t *testing.T) {
	file := "\ufeffhttps://a.example/\tnews\r\n" +
		"# a comment\r\n" +
		"\r\n" +
		"   https://b.example/  \r\n" +
		"not a url\r\n" +
		"ftp://c.example/\tfiles\n" +
		strings.Repeat("x", maxLine+10) + "\n" +
		"https://d.example/\t\t two tabs \n" +
		"https://e.example/" // no new line at the end
	var complaints []string
	var got []frontier.Candidate
	for lines := newLines(strings.NewReader(file)); ; {
		c, err := lines.next()
		var wrong *BadLine
		if errors.As(err, &wrong) {
			complaints = append(complaints, wrong.Error())
			continue
		}
		if err != nil {
			break
		}
		got = append(got, c)
	}
	var urls []string
	for _, c := range got {
		urls = append(urls, c.URL.String()+" "+c.Tag)
	}
	want := []string{"https://a.example/ news", "https://b.example/ ", "https://d.example/ two tabs", "https://e.example/ "}
	if !slices.Equal(urls, want) {
		t.Errorf("seeds %q, want %q", urls, want)
	}
	for i, prefix := range []string{"line 5: ", "line 6: ", "line 7: "} {
		if i >= len(complaints) || !strings.HasPrefix(complaints[i], prefix) {
			t.Errorf("complaints %q, want the %dth to begin with %q", complaints, i+1, prefix)
		}
	}
	assert.Lenf(t, complaints, 3, "%d complaints, want 3: %q", len(complaints), complaints)
}

func TestSeedFile_ATagThatIsTooLongIsABadLine(t *testing.T) {
	lines := newLines(strings.NewReader("http://a.example/\t" + strings.Repeat("t", maxTag) + "\nhttp://b.example/\t" + strings.Repeat("t", maxTag+1) + "\n"))
	if c, err := lines.next(); err != nil || len(c.Tag) != maxTag {
		t.Errorf("%d octets, %v", len(c.Tag), err)
	}
	var wrong *BadLine
	if _, err := lines.next(); !errors.As(err, &wrong) || wrong.Number != 2 || !strings.Contains(wrong.Why, "tag") {
		t.Errorf("%v", err)
	}
}
