// Package mail builds plain-text messages and sends them to an SMTP server. It owns the wire format
// and the classification of results: the server accepted the message, it may be tried again, it
// will never be accepted, or the result is unknown. It does not know campaigns, contacts or the
// store, stores nothing, and never retries a message.
//
// The SMTP dialogue uses github.com/wneessen/go-mail/smtp, which exposes every command and its
// answer, because the result depends on which command failed. The messages of that library are not
// used. They are built here, in one pass over one buffer.
package mail

// Status is the result of sending a message.
type Status int

const (
	// Canceled: the message was no longer wanted right before its content would have been sent.
	Canceled Status = iota
	// Sent: the server accepted the message.
	Sent
	// Deferred: the server refused the message temporarily (4xx), or the connection was lost before
	// any content was sent.
	Deferred
	// Rejected: the server refused the sender or the message permanently (5xx), or the message is
	// invalid.
	Rejected
	// Bounced: the server reported that the mailbox of the recipient does not exist.
	Bounced
	// RecipientRejected: the server refused the recipient permanently without saying why. The
	// mailbox may not exist, or the server may refuse everything from this sender.
	RecipientRejected
	// Unknown: the content was sent at least partly and the server did not answer. The message may
	// have been delivered.
	Unknown
	// ServerUnavailable: connecting, TLS or login failed, so no message can be sent. Nothing of
	// this message was sent.
	ServerUnavailable
)

// String returns the name of the status in metrics, which is older than the Go name.
func (s Status) String() string {
	return [...]string{"withheld", "sent", "later", "refused", "bounced", "recipient_refused", "unknown", "trouble"}[s]
}

// Result is the result of sending a message.
type Result struct {
	Status Status
	// Text is one line of at most 200 characters: the server's answer with its code, or what
	// failed. It never contains the password.
	Text string
}
