package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
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
	var said strings.Builder
	s, err := OpenSeeds(nil, "-", true, cli.Streams{In: strings.NewReader(file), Err: &said})
	require.NoError(t, err)
	got, err := s.Next()
	require.NoError(t, err)
	complaints := strings.Split(strings.TrimSpace(said.String()), "\n")
	var urls []string
	for _, c := range got {
		urls = append(urls, c.URL.String()+" "+c.Tag)
	}
	want := []string{"https://a.example/ news", "https://b.example/ ", "https://d.example/ two tabs", "https://e.example/ "}
	if !slices.Equal(urls, want) {
		t.Errorf("seeds %q, want %q", urls, want)
	}
	for i, prefix := range []string{"standard input:5: ", "standard input:6: ", "standard input:7: "} {
		if i >= len(complaints) || !strings.HasPrefix(complaints[i], prefix) {
			t.Errorf("complaints %q, want the %dth to begin with %q", complaints, i+1, prefix)
		}
	}
	assert.Lenf(t, complaints, 3, "%d complaints, want 3: %q", len(complaints), complaints)
}

func TestSeedFile_ATagThatIsTooLongIsABadLine(t *testing.T) {
	file := "http://a.example/\t" + strings.Repeat("t", maxTag) + "\nhttp://b.example/\t" + strings.Repeat("t", maxTag+1) + "\n"
	var said strings.Builder
	s, err := OpenSeeds(nil, "-", true, cli.Streams{In: strings.NewReader(file), Err: &said})
	require.NoError(t, err)
	got, err := s.Next()
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Len(t, got[0].Tag, maxTag)
	assert.Contains(t, said.String(), "standard input:2: tag longer")
}
