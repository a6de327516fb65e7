<?php
require '/usr/share/php/libphp-phpmailer/autoload.php';

$mail = new PHPMailer\PHPMailer\PHPMailer(true);
$mail->isSMTP();
$mail->Host = 'localhost';
$mail->Port = (int) getenv('PORT');
$mail->SMTPAuth = true;
$mail->Username = 'any';
$mail->Password = getenv('VERDICT_API_KEY');
$mail->setFrom(getenv('FROM'));
foreach (explode(',', getenv('TO')) as $recipient) {
    $mail->addAddress($recipient);
}
$mail->Subject = getenv('SUBJECT');
$mail->Body = 'Shipped.';

for ($i = 0; $i < 2; $i++) {
    try {
        $mail->send();
        echo "sent\n";
        break;
    } catch (Exception $error) {
        $text = preg_replace('/\s+/', ' ', $mail->ErrorInfo);
        echo "failed $text\n";
        if (preg_match('/\b5\d\d\b/', $text)) {
            break;
        }
    }
}
