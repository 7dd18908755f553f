package export

import (
	"fmt"

	"curtsy/storage/tables"
)

// Row is the row of a member in tables.Duplicates.
func (m *member) Row() tables.Row {
	return tables.Row{
		tables.Text(fmt.Sprintf("%016x", m.Cluster)),
		tables.Long(m.Size),
		tables.Text(m.Key),
		tables.Text(m.URL),
		tables.Instant(m.Fetched),
		tables.Text(m.Representative),
		tables.Text(string(m.Kind)),
		tables.Float(m.Similarity),
		tables.Text(fmt.Sprintf("%016x", m.Digest)),
	}
}
