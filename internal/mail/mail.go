// Package mail makes plain-text messages and hands them to a mail server. It owns what goes over the wire, and what may be said of
// a message afterwards: that the server has it, that it may be tried again, that it never will be taken, or that nobody knows.
// It does not know campaigns, contacts or the store, keeps nothing, and tries no message twice.
//
// The SMTP dialogue is that of github.com/wneessen/go-mail/smtp, which gives every command and its answer by itself: what became of
// a message depends on which one failed. Its messages are not used: they are made here, in one pass over one buffer.
package mail

// Status is what became of a message.
type Status int

const (
	// Canceled: the message was not to go any more when its content was about to.
	Canceled Status = iota
	// Sent: the server has taken the message.
	Sent
	// Deferred: the server refused this message for now (4xx), or was lost before any of its content had gone.
	Deferred
	// Rejected: the server will not take this message (5xx), or it is none that can be sent.
	Rejected
	// Bounced: the server says that the recipient's mailbox is not there.
	Bounced
	// Unknown: the content began to go and no answer came: the message may have been delivered.
	Unknown
	// ServerUnavailable: no message can be sent: connecting, TLS or login failed. It says nothing of this message, of which nothing has gone.
	ServerUnavailable
	// SenderRejected: no message of this sender can be sent: the server refused it. It says nothing of this message either.
	SenderRejected
)

func (s Status) String() string {
	switch s {
	case Canceled:
		return "withheld"
	case Sent:
		return "sent"
	case Deferred:
		return "later"
	case Rejected:
		return "refused"
	case Bounced:
		return "bounced"
	case Unknown:
		return "unknown"
	case ServerUnavailable:
		return "trouble"
	case SenderRejected:
		return "unwelcome"
	}
	return "no status"
}

// Result is what became of a message, and in which words.
type Result struct {
	Status Status
	// Text is one line of at most 200 characters: the server's answer with its code, or what failed. It never has the password.
	Text string
}
