// Package procgroup ends commands together with all that they have started, as far as the system knows how.
package procgroup

import "time"

// Grace is how long a command may take to end after it was asked to.
const Grace = 10 * time.Second
