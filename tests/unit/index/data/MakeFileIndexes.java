import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.fileindex.FileIndexFormat;
import org.apache.paimon.fileindex.FileIndexWriter;
import org.apache.paimon.fileindex.FileIndexer;
import org.apache.paimon.options.Options;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Collections;

/**
 * Writes file_index_java.bin: containers that the released Paimon makes of the columns that
 * test_file_index.c makes, too. Class path: paimon-bundle 1.4.2.
 *
 * <p>Each: short length, "TYPE kind" as UTF-8, int length, container with the column "c".
 */
public class MakeFileIndexes {
    static final int ROWS = 400;
    static final int VALUES = 100;

    static long mix(long x) {
        x += 0x9E3779B97F4A7C15L;
        x = (x ^ (x >>> 30)) * 0xBF58476D1CE4E5B9L;
        x = (x ^ (x >>> 27)) * 0x94D049BB133111EBL;
        return x ^ (x >>> 31);
    }

    static Object value(String type, int row) {
        if (Long.remainderUnsigned(mix(row + 1000000L), 16) == 0) {
            return null;
        }
        int d = (int) Long.remainderUnsigned(mix(row), VALUES);
        long s = d - 50;
        long micros = (d / 3 - 16) * 1000003L;
        switch (type) {
            case "BOOLEAN":
                return d % 2 == 1;
            case "TINYINT":
                return (byte) (d - 50);
            case "SMALLINT":
                return (short) (d * 100 - 5000);
            case "INT":
                return d * 7 - 300;
            case "BIGINT":
                return s * 1000000007L;
            case "FLOAT":
                return d == 0 ? Float.NaN : d == 1 ? -0.0f : d == 2 ? 0.0f : s / 8.0f;
            case "DOUBLE":
                return d == 0 ? Double.NaN : d == 1 ? -0.0 : d == 2 ? 0.0 : s / 3.0;
            case "DECIMAL(18, 2)":
                return Decimal.fromUnscaledLong(s * 1234567L, 18, 2);
            case "DECIMAL(30, 2)":
                return Decimal.fromBigDecimal(
                        new BigDecimal(BigInteger.valueOf(s * 1234567L), 2), 30, 2);
            case "STRING":
                return BinaryString.fromString(
                        d % 5 == 0 ? "\u00e4\u20ac\ud83d\ude00-" + d : d == 1 ? "" : "key " + d);
            case "DATE":
                return (int) s;
            case "TIME(3)":
                return d * 1001;
            case "TIMESTAMP(3)":
                return Timestamp.fromEpochMillis(s * 86400123L);
            case "TIMESTAMP(6)":
                return Timestamp.fromMicros(s * 86400123456L);
            default: // TIMESTAMP(9): three values share a microsecond
                return Timestamp.fromEpochMillis(
                        Math.floorDiv(micros, 1000L),
                        (int) Math.floorMod(micros, 1000L) * 1000 + d % 3 * 333);
        }
    }

    static DataOutputStream out;

    static void write(String name, String kind, String version, DataType type, boolean isNull)
            throws Exception {
        Options options = new Options();
        options.set("version", version);
        options.set("index-block-size", "256b");
        options.set("chunk-size", name.length() % 2 == 0 ? "160b" : "0b");
        options.set("items", "100");
        FileIndexWriter writer = FileIndexer.create(kind, type, options).createWriter();
        for (int i = 0; i < ROWS; i++) {
            writer.writeRecord(isNull ? null : value(name, i));
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (FileIndexFormat.Writer format = FileIndexFormat.createWriter(bytes)) {
            format.writeColumnIndexes(
                    Collections.singletonMap(
                            "c", Collections.singletonMap(kind, writer.serializedBytes())));
        }
        byte[] text =
                (name + (isNull ? " nulls " : " ") + kind).getBytes("UTF-8");
        out.writeShort(text.length);
        out.write(text);
        out.writeInt(bytes.size());
        bytes.writeTo(out);
    }

    public static void main(String[] args) throws Exception {
        String[] names = {
            "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(18, 2)",
            "DECIMAL(30, 2)", "STRING", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)",
            "TIMESTAMP(9)"
        };
        DataType[] types = {
            DataTypes.BOOLEAN(), DataTypes.TINYINT(), DataTypes.SMALLINT(), DataTypes.INT(),
            DataTypes.BIGINT(), DataTypes.FLOAT(), DataTypes.DOUBLE(), DataTypes.DECIMAL(18, 2),
            DataTypes.DECIMAL(30, 2), DataTypes.STRING(), DataTypes.DATE(), DataTypes.TIME(3),
            DataTypes.TIMESTAMP(3), DataTypes.TIMESTAMP(6), DataTypes.TIMESTAMP(9)
        };
        out = new DataOutputStream(new FileOutputStream(args[0]));
        for (int i = 0; i < names.length; i++) {
            boolean isDecimal = names[i].startsWith("DECIMAL");
            boolean isOther = names[i].equals("BOOLEAN") || names[i].equals("STRING");
            boolean isFloat = names[i].equals("FLOAT") || names[i].equals("DOUBLE");
            if (!isDecimal && !names[i].equals("BOOLEAN")) {
                write(names[i], "bloom-filter", "1", types[i], false);
            }
            if (!isDecimal) {
                write(names[i], "bitmap", "1", types[i], false);
                write(names[i], "bitmap", "2", types[i], false);
            }
            if (!isOther && !isFloat) {
                write(names[i], "bsi", "1", types[i], false);
            }
            if (!names[i].equals("DECIMAL(30, 2)") && !names[i].equals("TIMESTAMP(9)")) {
                write(names[i], "range-bitmap", "1", types[i], false);
            }
        }
        for (String kind : new String[] {"bloom-filter", "bitmap", "bsi", "range-bitmap"}) {
            write("INT", kind, "2", DataTypes.INT(), true);
        }
        out.close();
    }
}
