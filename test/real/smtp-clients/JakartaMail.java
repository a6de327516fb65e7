import jakarta.mail.Authenticator;
import jakarta.mail.Message;
import jakarta.mail.MessagingException;
import jakarta.mail.PasswordAuthentication;
import jakarta.mail.Session;
import jakarta.mail.Transport;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeMessage;
import java.util.Properties;
import java.util.regex.Pattern;

public class JakartaMail {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("mail.smtp.host", "localhost");
        properties.put("mail.smtp.port", System.getenv("PORT"));
        properties.put("mail.smtp.auth", "true");
        properties.put("mail.smtp.starttls.enable", "true");
        // The authority of the test is not in Java's own list.
        properties.put("mail.smtp.ssl.trust", "localhost");
        Session session = Session.getInstance(properties, new Authenticator() {
            @Override
            protected PasswordAuthentication getPasswordAuthentication() {
                return new PasswordAuthentication("any", System.getenv("VERDICT_API_KEY"));
            }
        });
        MimeMessage message = new MimeMessage(session);
        message.setFrom(System.getenv("FROM"));
        message.setRecipients(Message.RecipientType.TO, InternetAddress.parse(System.getenv("TO")));
        message.setSubject(System.getenv("SUBJECT"));
        message.setText("Shipped.");
        for (int i = 0; i < 2; i++) {
            try {
                Transport.send(message);
                System.out.println("sent");
                return;
            } catch (MessagingException error) {
                String text = chain(error).replaceAll("\\s+", " ");
                System.out.println("failed " + text);
                if (Pattern.compile("\\b5\\d\\d\\b").matcher(text).find()) return;
            }
        }
    }

    static String chain(Throwable error) {
        Exception next = error instanceof MessagingException one ? one.getNextException() : null;
        return error + (next == null ? "" : " " + chain(next));
    }
}
