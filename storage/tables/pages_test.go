package tables

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flat is Common Crawl's flat schema in its order (cc-index-schema-flat.json; integer is int32, short is int16).
const flat = `url_surtkey string required
url string required
url_host_name string required
url_host_tld string
url_host_2nd_last_part string
url_host_3rd_last_part string
url_host_4th_last_part string
url_host_5th_last_part string
url_host_registry_suffix string
url_host_registered_domain string
url_host_private_suffix string
url_host_private_domain string
url_host_name_reversed string
url_protocol string required
url_port int32
url_path string required
url_query string
fetch_time timestamp required
fetch_status int16 required
fetch_redirect string
content_digest string
content_mime_type string
content_mime_detected string
content_charset string
content_languages string
content_truncated string
warc_filename string required
warc_record_offset int32 required
warc_record_length int32 required
warc_segment string required
crawl string required
subset string required`

func TestPagesBeginWithCommonCrawlsColumns(t *testing.T) {
	for i, want := range strings.Split(flat, "\n") {
		c := Pages.Columns[i]
		got := fmt.Sprintf("%s %s", c.Name, c.Kind)
		if c.Required {
			got += " required"
		}
		assert.Equalf(t, want, got, "column %d", i)
	}
}

func TestTables(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for _, table := range append(All(), &Vertices, &Edges) {
		if !word.MatchString(table.Name) || seen[table.Name] || table.Doc == "" || strings.HasSuffix(table.Doc, ".") {
			t.Errorf("table %q: %q", table.Name, table.Doc)
		}
		seen[table.Name] = true
		for _, place := range table.Places() {
			assert.Truef(t, place >= 0 && table.Columns[place].Required, "%s: a column of its key is not there, or may be null: %v", table.Name, table.Key)
		}
		for _, name := range table.Lookup {
			i := table.Index(name)
			assert.Truef(t, i >= 0 && table.Columns[i].Kind != List, "%s: no index can be of %q", table.Name, name)
		}
		names := map[string]bool{}
		for _, c := range table.Columns {
			require.Less(t, int(c.Kind), len(kindNames), c.Name)
			lower := strings.ToLower(c.Name)
			assert.Truef(t, word.MatchString(c.Name) && !names[lower] && c.Doc != "" && !strings.HasSuffix(c.Doc, "."), "%s.%s: %q", table.Name, c.Name, c.Doc)
			names[c.Name] = true
		}
	}
}
